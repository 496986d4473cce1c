// row: flags.--paused
// args: --paused=false
export default function () { console.log('runs'); }
