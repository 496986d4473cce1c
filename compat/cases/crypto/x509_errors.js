// row: x509.parse
import x509 from 'k6/crypto/x509';
import encoding from 'k6/encoding';

const pem = open('certificates/ecdsa.pem');
const keys = ['ed25519', 'secp256k1'].map((name) => open(`certificates/${name}.pem`));
const wrapped = (text) => `-----BEGIN CERTIFICATE-----\n${encoding.b64encode(text)}\n-----END CERTIFICATE-----\n`;

const tried = (name, run) => {
  try {
    console.log(name, JSON.stringify(run()));
  } catch (error) {
    console.log(name, error.name, error.message, error instanceof Error);
  }
};

export default function () {
  for (const name of ['parse', 'getAltNames', 'getIssuer', 'getSubject']) {
    tried(name, () => x509[name]('no certificate'));
    tried(name, () => x509[name](wrapped('something else')));
    tried(name, () => x509[name](''));
  }
  const lines = pem.trim().split('\n');
  const body = encoding.b64decode(lines.slice(1, -1).join(''));
  const der = Array.from(new Uint8Array(body));
  const changed = (change) => wrapped(new Uint8Array(change([...der])).buffer);
  tried('whole', () => x509.getSubject(changed((bytes) => bytes)).commonName);
  tried('cut', () => x509.getSubject(changed((bytes) => bytes.slice(0, 100))));
  tried('more', () => x509.getSubject(changed((bytes) => [...bytes, 1, 2])));
  tried('no end', () => x509.getSubject(lines.slice(0, -1).join('\n')));
  tried('no base64', () => x509.getSubject(pem.replace(/M/g, '!')));
  tried('other label', () => x509.getSubject(pem.replace(/CERTIFICATE/g, 'SOMETHING')).commonName);
  for (const key of keys) {
    tried('key', () => x509.parse(key));
    tried('subject', () => x509.getSubject(key).commonName);
  }
  for (const value of [null, undefined, 7, {}, [1, 2], true]) tried(String(value), () => x509.parse(value));
  tried('nothing', () => x509.parse());
}
