throw new Error('while it was loaded');
