// row: flags.--console-output
// args: --console-output said.txt --log-format raw
// files: said.txt
export default function () { console.log('to the file'); console.error('this too'); }
