const net=require('net'),crypto=require('crypto'),zlib=require('zlib'),fs=require('fs');
const log=(...a)=>fs.appendFileSync('peer.log',a.join(' ')+'\n');
const frame=(op,data,o={})=>{data=Buffer.from(data);let b0=(o.fin===false?0:0x80)|(o.rsv||0)|op;let h;const m=o.mask?0x80:0;
 if(data.length<126)h=Buffer.from([b0,m|data.length]);else if(data.length<65536){h=Buffer.from([b0,m|126,0,0]);h.writeUInt16BE(data.length,2)}else{h=Buffer.alloc(10);h[0]=b0;h[1]=m|127;h.writeBigUInt64BE(BigInt(data.length),2)}
 if(o.mask){return Buffer.concat([h,Buffer.from([0,0,0,0]),data])}return Buffer.concat([h,data])};
const close=(c,t='')=>{const b=Buffer.alloc(2+Buffer.byteLength(t));b.writeUInt16BE(c,0);b.write(t,2);return frame(8,b)};
net.createServer(s=>{s.setNoDelay(true);let buf=Buffer.alloc(0),up=false,path='';s.on('error',e=>log('err',e.code));s.on('close',()=>log(path,'tcp closed'));s.on('end',()=>log(path,'tcp end'));
 s.on('data',d=>{buf=Buffer.concat([buf,d]);
  if(!up){const i=buf.indexOf('\r\n\r\n');if(i<0)return;const head=buf.slice(0,i).toString();buf=buf.slice(i+4);log('---\n'+head);path=head.split(' ')[1].split('?')[0];
   const key=/Sec-WebSocket-Key: (.*)/i.exec(head)?.[1]?.trim()||'';let acc=crypto.createHash('sha1').update(key+'258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
   if(path=='/404'){s.end('HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\nX-a-b: 1\r\n\r\nnot here!');return}
   if(path=='/big404'){s.end('HTTP/1.1 404 Not Found\r\nContent-Length: 5000\r\n\r\n'+'x'.repeat(5000));return}
   if(path=='/200'){s.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi');return}
   if(path=='/garbage'){s.end('garbage\r\n\r\n');return}
   if(path=='/eof'){s.end();return}
   if(path=='/rst'){s.resetAndDestroy();return}
   if(path=='/wrongkey')acc='AAAA';
   let extra='';if(path=='/deflate')extra='Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n';
   if(path=='/deflatebad')extra='Sec-WebSocket-Extensions: permessage-deflate\r\n';
   if(path=='/proto')extra='Sec-WebSocket-Protocol: b\r\n';if(path=='/cookie')extra='Set-Cookie: c=1; Path=/\r\n';
   s.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: '+acc+'\r\n'+extra+'\r\n');up=true;
   const w=b=>s.write(b);
   if(path=='/close1000')w(close(1000,'bye'));if(path=='/close1001')w(close(1001));if(path=='/close1011')w(close(1011,'boom'));if(path=='/close3001')w(close(3001,'x'));if(path=='/close1005')w(frame(8,''));if(path=='/close1004')w(close(1004));
   if(path=='/abrupt')setTimeout(()=>s.destroy(),50);if(path=='/reset')setTimeout(()=>s.resetAndDestroy(),50);
   if(path=='/frag'){w(frame(1,'he',{fin:false}));w(frame(9,'p'));w(frame(0,'ll',{fin:false}));w(frame(0,'o'))}
   if(path=='/ping')w(frame(9,'hey'));if(path=='/pong')w(frame(10,'unasked'));if(path=='/rsv2')w(frame(1,'x',{rsv:0x20}));if(path=='/rsv1')w(frame(1,'x',{rsv:0x40}));if(path=='/opcode')w(frame(3,'x'));
   if(path=='/masked')w(frame(1,'x',{mask:true}));if(path=='/utf8')w(frame(1,Buffer.from([0x61,0xff,0xfe,0x62,0xe2,0x82,0x63])));if(path=='/bin')w(frame(2,Buffer.from([1,2,255])));
   if(path=='/longctl')w(frame(9,'x'.repeat(126)));if(path=='/cont')w(frame(0,'x'));
   if(path=='/half'){w(frame(1,'hello world').slice(0,6));setTimeout(()=>s.destroy(),50)}
   if(path=='/deflate'){const z=zlib.deflateRawSync(Buffer.from('compressed hello'),{finishFlush:zlib.constants.Z_SYNC_FLUSH});w(frame(1,z.slice(0,-4),{rsv:0x40}))}
  }
  while(up&&buf.length>=2){let l=buf[1]&127,o=2;if(l==126){if(buf.length<4)return;l=buf.readUInt16BE(2);o=4}else if(l==127){if(buf.length<10)return;l=Number(buf.readBigUInt64BE(2));o=10}
   const m=buf[1]>>7;if(buf.length<o+l+(m?4:0))return;let p=Buffer.from(buf.slice(o+(m?4:0),o+(m?4:0)+l));if(m){const k=buf.slice(o,o+4);for(let i=0;i<p.length;i++)p[i]^=k[i%4]}
   const b0=buf[0];buf=buf.slice(o+l+(m?4:0));const op=b0&15;log(path,'frame',b0.toString(16),'len',p.length,p.slice(0,40).toString(op==8?'hex':'latin1'));
   if(path=='/sink'||path=='/noclose')continue;
   if(op==1||op==2||op==0)s.write(frame(op,p,{fin:!!(b0&0x80),rsv:b0&0x40}));
   if(op==9&&path!='/nopong')s.write(frame(10,p));
   if(op==8){s.write(frame(8,p.slice(0,2)));s.end()}
  }
 })
}).listen(+process.argv[2]||18091,'127.0.0.1');
