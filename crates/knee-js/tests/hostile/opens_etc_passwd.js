// says: outside of the script's folder
open('/etc/passwd');
export default function () {}
