// row: globals.console, flags.--verbose
// args: --verbose
export default function () { console.debug('debug'); console.log('log'); }
