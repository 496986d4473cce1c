// row: flags.unknown
// args: --no-such-flag
export default function () { console.log('not reached'); }
