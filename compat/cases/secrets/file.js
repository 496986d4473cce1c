// row: k6/secrets, flags.--secret-source
// args: --secret-source=file=name=site,filename={dir}/material/secrets.txt
import secrets from 'k6/secrets';
export default async function () {
  console.log(JSON.stringify(await secrets.get('user')).length, (await secrets.get('with blank ')).length);
  console.log(await secrets.source('site').get('user'));
  console.error(`again: ${await secrets.get('user')}`);
  throw new Error(`thrown: ${await secrets.get('user')}`);
}
