// row: k6/x/sse
import sse from 'k6/x/sse';
export const options = { blockHostnames: ['blocked.test'], hosts: { 'here.test': '127.0.0.1' } };
export default function () {
  console.log(sse.open('http://blocked.test/', () => {}).error);
  const there = __ENV.BASE.replace('127.0.0.1', 'here.test');
  console.log(sse.open(`${there}/sse/count/1`, () => {}).status);
}
