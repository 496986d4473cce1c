// row: flags.-, exit codes.107
// stdin: yes
throw new Error('while it is loaded');
