// row: k6/x/sse
import sse, * as all from 'k6/x/sse';
export default function () { console.log(Object.keys(sse).join(), typeof all.open, typeof sse.open); }
