// row: k6/secrets
// args: --secret-source=mock=user=ann-17
import secrets from 'k6/secrets';
export default async function () {
  console.log('before');
  await secrets.get('none');
  console.log('never');
}
