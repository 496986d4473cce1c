import ws from 'k6/ws'; import http from 'k6/http'; import { sleep, group, check } from 'k6';
export const options={vus:1,iterations:1};
const B='ws://127.0.0.1:18091';
export default function(){
 group('g',()=>{ const r=ws.connect(B+'/proto',{headers:{'Sec-WebSocket-Protocol':'a,b'},tags:{a:'1',name:'nm'}},s=>{ s.on('open',()=>{s.ping();s.send('x')}); s.on('message',m=>{ console.log('m',m); s.close()}); s.on('foo',()=>{}); console.log(typeof s.on('open',()=>console.log('second open')));}); console.log(Object.keys(r).sort().join(), typeof r.headers, r.headers['Sec-Websocket-Protocol'], r instanceof Object); });
 const jar=new http.CookieJar(); jar.set('http://127.0.0.1:18091/','jj','v1');
 ws.connect(B+'/echo',{jar},s=>s.close());
 http.cookieJar().set('http://127.0.0.1:18091/','vu','v2');
 ws.connect(B+'/echo',{headers:{Cookie:'own=1'}},s=>s.close());
 ws.connect(B+'/echo',null,s=>s.close());
 ws.connect(B+'/echo',undefined,s=>s.close());
 try { ws.connect(B+'/echo','x',s=>s.close()) } catch(e) { console.log(String(e)) }
 try { ws.connect(B+'/echo',{headers:5},s=>s.close()) } catch(e) { console.log(String(e)) }
 try { ws.connect(B+'/echo',{jar:5},s=>s.close()) } catch(e) { console.log(String(e)) }
 try { ws.connect(B+'/echo',{timeout:'1s',compression:null},s=>s.close()) } catch(e) { console.log(String(e)) }
 ws.connect(B+'/echo',s=>{ s.on('error',e=>console.log('ERR',e.error(),typeof e,Object.prototype.toString.call(e))); s.on('open',()=>{ sleep(0.1); s.send('a'); s.setTimeout(()=>{s.sendBinary(new ArrayBuffer(3)); },5); s.setTimeout(()=>{s.close(1000); s.close(1000);},60); }); s.on('message',(m)=>console.log('got',m)); s.on('binaryMessage',(m)=>console.log('gotb',m.byteLength, m instanceof ArrayBuffer)); s.on('close',c=>console.log('close',c)); });
 ws.connect(B+'/sink',s=>{ s.on('close',c=>console.log('close',c)); s.on('open',()=>{ s.send('a'); s.close(1000); }); });
 let t=Date.now(); ws.connect(B+'/echo?q=secret&token=abc',s=>{ s.setInterval(()=>{ s.close(); },20); }); console.log(Date.now()-t<200);
}
