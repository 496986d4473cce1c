// row: options.insecureSkipTLSVerify
export const options = { insecureSkipTLSVerify: true };
export default function () { console.log('runs'); }
