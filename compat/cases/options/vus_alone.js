// row: options.vus
export const options = { vus: 1 };
export default function () { console.log(__VU, __ITER); }
