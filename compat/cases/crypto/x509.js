// row: x509.parse
import x509, { parse } from 'k6/crypto/x509';

const certificates = ['rsa', 'ecdsa', 'dsa', 'pss'].map((name) => [name, open(`certificates/${name}.pem`)]);

export default function () {
  for (const [name, pem] of certificates) {
    const certificate = parse(pem);
    console.log(name, Object.keys(certificate).join());
    console.log(Object.keys(certificate.subject).join(), Object.keys(certificate.issuer).join());
    console.log(JSON.stringify(certificate.subject), JSON.stringify(certificate.issuer));
    console.log(certificate.notBefore, certificate.notAfter, certificate.signatureAlgorithm);
    console.log(JSON.stringify(certificate.altNames), certificate.fingerPrint.length, certificate.fingerPrint.join());
    const { algorithm, key } = certificate.publicKey;
    console.log(algorithm, Object.keys(certificate.publicKey).join());
    for (const field of ['n', 'e', 'x', 'y', 'g', 'p', 'q']) {
      if (key[field] !== undefined) console.log(field, typeof key[field], String(key[field]));
    }
  }
  console.log(Object.keys(x509).sort().join());
}
