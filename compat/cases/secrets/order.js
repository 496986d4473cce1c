// row: k6/secrets
// args: --secret-source=mock=user=ann-17
import secrets from 'k6/secrets';
export default function () {
  secrets.get('user').then(() => console.log('secret'));
  Promise.resolve().then(() => console.log('promise'));
  setTimeout(() => console.log('timer'), 20);
  console.log('end');
}
