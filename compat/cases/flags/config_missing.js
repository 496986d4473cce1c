// row: flags.--config, exit codes.104
// args: --config {dir}/material/nowhere.json
export default function () { console.log('not reached'); }
