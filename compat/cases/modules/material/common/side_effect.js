globalThis.sideEffect = 1;
