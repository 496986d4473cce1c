// row: flags.--execution-segment, exit codes.104
// args: --execution-segment 0:1/3 --execution-segment-sequence 0,1/2,1
export default function () { console.log('not reached'); }
