// row: k6/secrets, flags.--secret-source
// args: --secret-source=mock=name=site,default,user=ann-17,empty=,pair=a1b2=c3d4 --secret-source=mock=name=other,user=bob-18
import secrets from 'k6/secrets';
const early = await secrets.get('user');
export default async function () {
  console.log(Object.keys(secrets).sort().join(), Object.keys(secrets.source('other')).join());
  console.log(early === await secrets.get('user'), (await secrets.get('user')).length);
  console.log('user is', await secrets.get('user'), 'or', await secrets.source('other').get('user'));
  console.log((await secrets.get('pair')).length, JSON.stringify(await secrets.get('empty')));
  console.log(await secrets.get('pair'), { a: [await secrets.get('pair')] });
}
