// says: outside of the script's folder
import '/etc/passwd';
export default function () {}
