// row: k6/secrets
// args: --secret-source=mock=user=ann-17
import secrets from 'k6/secrets';
const shown = (e) => [typeof e, String(e), e instanceof Error, e.message, e.name, Object.keys(e).join()].join(' | ');
export default async function () {
  const asked = [() => secrets.get('none'), () => secrets.get(), () => secrets.get(undefined), () => secrets.get(null),
    () => secrets.source('q').get('user'), () => secrets.source().get('user')];
  for (const ask of asked) {
    try { console.log((await ask()).length); } catch (e) { console.log(shown(e)); }
  }
}
