import { WebSocket } from 'k6/websockets';
export const options={scenarios:{a:{executor:'constant-vus',vus:1,duration:'1s',gracefulStop:'1s'}}};
export default function(){ const s=new WebSocket('ws://127.0.0.1:18091/echo'); s.onopen=()=>{s.send('x')}; s.onclose=()=>console.log('closed'); setInterval(()=>s.send('tick'),300); }
