// row: flags.--duration, exit codes.104
// args: -d soon
export default function () { console.log('not reached'); }
