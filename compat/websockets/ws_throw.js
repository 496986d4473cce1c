import ws from 'k6/ws';
export const options={throw:true};
export default function(){ for (const u of ['ws://127.0.0.1:1/','ws://127.0.0.1:18091/404']) try { ws.connect(u,()=>{}); } catch(e) { console.log(String(e), e.name, JSON.stringify(e), e.error&&e.error()); } 
 ws.connect('ws://127.0.0.1:18091/404',()=>{}); }
