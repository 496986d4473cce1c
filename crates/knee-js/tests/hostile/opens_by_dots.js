// says: outside of the folders that the script can read
open('../../../../../../../../../../etc/passwd');
export default function () {}
