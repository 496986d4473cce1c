// says: only available in the init stage
// iterations: 1
export default function () { open('./opens_in_an_iteration.js'); }
