// row: flags.--insecure-skip-tls-verify
// args: --insecure-skip-tls-verify
export default function () { console.log('runs'); }
