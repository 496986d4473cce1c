// says: outside of the folders that the script can read
import '/etc/passwd';
export default function () {}
