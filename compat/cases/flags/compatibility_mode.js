// row: flags.--compatibility-mode
// args: --compatibility-mode base
export default function () { console.log('runs'); }
