// row: environment.HTTPS_PROXY
// env: HTTPS_PROXY=http://{proxy}
import http from 'k6/http';
export const options = { insecureSkipTLSVerify: true };
export default function () {
  const answers = ['a', 'b', 'a', 'b'].map((name) => http.get(`https://${name}.test/get`));
  console.log(answers.map((answer) => answer.timings.tls_handshaking > 0).join());
}
