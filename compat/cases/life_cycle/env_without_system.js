// row: flags.--include-system-env-vars
// args: --include-system-env-vars=false -e ONE=1
// env: FROM_SYSTEM=yes
export default function () { console.log(__ENV.ONE, __ENV.FROM_SYSTEM); }
