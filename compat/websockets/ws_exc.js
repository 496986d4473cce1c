import { WebSocket } from 'k6/websockets';
export default function(){ const s=new WebSocket('ws://127.0.0.1:18091/echo'); s.onopen=()=>{s.send('x'); throw new Error('in open')}; s.onclose=(e)=>console.log('closed',e.code); s.onerror=(e)=>console.log('error',e.error); }
