// says: Uncaught (in promise) Error: nobody
// iterations: 1
export default function () { Promise.reject(new Error('nobody')); }
