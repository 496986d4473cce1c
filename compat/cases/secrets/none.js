// row: k6/secrets
import secrets from 'k6/secrets';
export default async function () {
  await secrets.get('a').catch((e) => console.log(String(e)));
  await secrets.source('b').get('a').catch((e) => console.log(String(e)));
}
