// row: environment.HTTP_PROXY, environment.HTTPS_PROXY
// env: HTTP_PROXY=http://us%20er:pa%3Ass@{proxy}
// env: HTTPS_PROXY=http://user:word@{proxy}
import http from 'k6/http';
export const options = { insecureSkipTLSVerify: true };
export default function () {
  const own = { headers: { 'Proxy-Authorization': 'own' } };
  console.log(http.get('http://service.test/get').status, http.get('http://service.test/get', own).status);
  console.log(http.get('http://user:word@service.test/basic-auth/user/word').status);
  console.log(http.get('https://service.test/get').status);
}
