// row: crypto.subtle.decrypt
export default async function () {
  console.log(Object.keys(crypto.subtle).sort().join(), typeof crypto.subtle.digest);
  await crypto.subtle.digest('MD5', new Uint8Array(1));
}
