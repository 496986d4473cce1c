// row: options.numbers as texts
export const options = { vus: '2', iterations: '4', maxRedirects: '5', batch: '', duration: undefined, stages: null };
export default function () {}
