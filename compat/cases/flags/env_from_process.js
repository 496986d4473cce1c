// row: flags.--env
// args: -e FROM_SYSTEM -e OWN=1
// env: FROM_SYSTEM=yes
export default function () { console.log(__ENV.FROM_SYSTEM, __ENV.OWN); }
