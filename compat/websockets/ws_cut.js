import ws from 'k6/ws';
export const options={scenarios:{a:{executor:'constant-vus',vus:1,duration:'1s',gracefulStop:'1s'}}};
export default function(){ ws.connect('ws://127.0.0.1:18091/echo',s=>{ s.on('open',()=>s.send('x')); s.on('close',()=>console.log('closed')); s.setInterval(()=>s.send('tick'),300)}); console.log('after'); }
