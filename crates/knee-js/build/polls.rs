//! Makes native code of QuickJS call the interrupt handler.
//!
//! QuickJS calls it from loops and calls in bytecode alone. A native function that loops over `{length: 2 ** 53 - 1}`,
//! or that searches a long text in a longer one, would keep its thread for ever: other VUs would stand still, and the
//! run could not end. Changes the text of `quickjs.c`; does not read or write files.
//!
//! Three kinds of places are changed. Functions by which native loops read and write elements poll as a loop does.
//! Native work that can take long counts as many steps of bytecode. Where native code cannot fail, it ends early with
//! any result, because the script ends at its next step.

/// What is replaced by what: each text occurs once.
const CHANGES: &[(&str, &str)] = &[
    // The functions that the others call.
    (
        "void *js_calloc(JSContext *ctx, size_t count, size_t size)\n{\n    void *ptr;\n",
        "/* knee: native work that takes as long as so many steps of bytecode */\n\
         static inline void knee_work(JSContext *ctx, uint64_t steps)\n\
         {\n    int left = ctx->interrupt_counter;\n    if (left > 0)\n\
         \x20       ctx->interrupt_counter = steps >= (uint64_t)left ? 0 : left - (int)steps;\n}\n\n\
         /* knee: the same where native code cannot fail; whether it must end */\n\
         static inline bool knee_ends(JSContext *ctx, uint64_t steps)\n\
         {\n    JSRuntime *rt = ctx->rt;\n    knee_work(ctx, steps + 1);\n\
         \x20   if (likely(ctx->interrupt_counter > 0) || !rt->interrupt_handler)\n        return false;\n\
         \x20   if (rt->interrupt_handler(rt, rt->interrupt_opaque))\n        return true;\n\
         \x20   ctx->interrupt_counter = JS_INTERRUPT_COUNTER_INIT;\n    return false;\n}\n\n\
         /* knee: a large block takes time to fill */\n\
         static inline void knee_allocates(JSContext *ctx, size_t size)\n\
         {\n    if (unlikely(size >= 4096))\n        knee_work(ctx, size / 64);\n}\n\n\
         void *js_calloc(JSContext *ctx, size_t count, size_t size)\n{\n    void *ptr;\n    knee_allocates(ctx, count * size);\n",
    ),
    // Memory, by which most native work can be measured.
    (
        "void *js_malloc(JSContext *ctx, size_t size)\n{\n    void *ptr;\n",
        "void *js_malloc(JSContext *ctx, size_t size)\n{\n    void *ptr;\n    knee_allocates(ctx, size);\n",
    ),
    (
        "void *js_realloc(JSContext *ctx, void *ptr, size_t size)\n{\n    void *ret;\n",
        "void *js_realloc(JSContext *ctx, void *ptr, size_t size)\n{\n    void *ret;\n    knee_allocates(ctx, size);\n",
    ),
    // Elements of objects that are no arrays.
    (
        "            return true;\n    }\n    val = JS_EXCEPTION;\n    present = -1;\n    prop = JS_NewAtomInt64(ctx, idx);",
        "            return true;\n    }\n    val = JS_EXCEPTION;\n    present = -1;\n\
         \x20   if (js_poll_interrupts(ctx)) {\n        *pval = val;\n        return -1;\n    }\n\
         \x20   prop = JS_NewAtomInt64(ctx, idx);",
    ),
    (
        "            return val;\n    }\n    prop = JS_NewAtomInt64(ctx, idx);\n    if (prop == JS_ATOM_NULL)\n        return JS_EXCEPTION;",
        "            return val;\n    }\n    if (js_poll_interrupts(ctx))\n        return JS_EXCEPTION;\n\
         \x20   prop = JS_NewAtomInt64(ctx, idx);\n    if (prop == JS_ATOM_NULL)\n        return JS_EXCEPTION;",
    ),
    (
        "    if ((uint64_t)idx <= INT32_MAX) {\n        /* fast path for fast arrays */\n        return JS_SetPropertyValue(ctx, this_obj, js_int32(idx), val,",
        "    if (js_poll_interrupts(ctx)) {\n        JS_FreeValue(ctx, val);\n        return -1;\n    }\n\
         \x20   if ((uint64_t)idx <= INT32_MAX) {\n        /* fast path for fast arrays */\n        return JS_SetPropertyValue(ctx, this_obj, js_int32(idx), val,",
    ),
    (
        "    if ((uint64_t)idx <= JS_ATOM_MAX_INT) {\n        /* fast path for fast arrays */\n        return JS_DeleteProperty(",
        "    if (js_poll_interrupts(ctx))\n        return -1;\n\
         \x20   if ((uint64_t)idx <= JS_ATOM_MAX_INT) {\n        /* fast path for fast arrays */\n        return JS_DeleteProperty(",
    ),
    // Steps of iterators.
    (
        "    obj = JS_IteratorNext2(ctx, enum_obj, method, argc, argv, &done);\n    if (JS_IsException(obj))\n        goto fail;\n    if (likely(done == 0)) {\n        *pdone = false;\n        return obj;",
        "    obj = JS_EXCEPTION;\n    if (js_poll_interrupts(ctx))\n        goto fail;\n\
         \x20   obj = JS_IteratorNext2(ctx, enum_obj, method, argc, argv, &done);\n    if (JS_IsException(obj))\n        goto fail;\n    if (likely(done == 0)) {\n        *pdone = false;\n        return obj;",
    ),
    // Calls of native functions.
    (
        "    p = JS_VALUE_GET_OBJ(func_obj);\n    cproto = p->u.cfunc.cproto;\n    arg_count = p->u.cfunc.length;",
        "    knee_work(ctx, 64);\n    p = JS_VALUE_GET_OBJ(func_obj);\n    cproto = p->u.cfunc.cproto;\n    arg_count = p->u.cfunc.length;",
    ),
    (
        "        JSClassCall *call_func;\n        call_func = rt->class_array[p->class_id].call;\n        if (!call_func) {\n        not_a_function:",
        "        JSClassCall *call_func;\n        if (p->class_id != JS_CLASS_C_FUNCTION)\n            knee_work(caller_ctx, 512);\n\
         \x20       call_func = rt->class_array[p->class_id].call;\n        if (!call_func) {\n        not_a_function:",
    ),
    // Texts that are compared, sorted and searched.
    (
        "                res = js_string_eq(JS_VALUE_GET_STRING(op1),\n                                   JS_VALUE_GET_STRING(op2));\n            } else {\n                res = (js_string_rope_compare(op1, op2, true) == 0);",
        "                res = knee_ends(ctx, JS_VALUE_GET_STRING(op1)->len / 64) ||\n\
         \x20                     js_string_eq(JS_VALUE_GET_STRING(op1),\n                                   JS_VALUE_GET_STRING(op2));\n\
         \x20           } else {\n                knee_work(ctx, 64);\n                res = (js_string_rope_compare(op1, op2, true) == 0);",
    ),
    (
        "        cmp = js_string_compare(ap->str, bp->str);\n    }\n    if (cmp != 0)",
        "        if (knee_ends(ctx, ap->str->len / 64)) {\n            JS_ThrowInterrupted(ctx);\n            goto exception;\n        }\n\
         \x20       cmp = js_string_compare(ap->str, bp->str);\n    }\n    if (cmp != 0)",
    ),
    (
        "static int string_indexof_char(JSString *p, int c, int from)\n{",
        "/* knee: whether p2 is in p1 at x1; also true if the search must end */\n\
         static bool knee_is_at(JSContext *ctx, JSString *p1, JSString *p2, int x1, int x2, int len)\n\
         {\n    int i, work = 0;\n    for (i = 0; i < len; i++) {\n\
         \x20       if (string_get(p1, x1 + i) != string_get(p2, x2 + i))\n            break;\n\
         \x20       if (++work == 1 << 14) {\n            work = 0;\n            if (knee_ends(ctx, 1 << 12))\n                return true;\n        }\n    }\n\
         \x20   return knee_ends(ctx, work / 4) || i == len;\n}\n\n\
         static int string_indexof_char(JSString *p, int c, int from)\n{",
    ),
    (
        "static int string_indexof(JSString *p1, JSString *p2, int from)\n{",
        "static int string_indexof(JSContext *ctx, JSString *p1, JSString *p2, int from)\n{",
    ),
    (
        "        if (!string_cmp(p1, p2, j + 1, 1, len2 - 1))\n            return j;",
        "        if (knee_is_at(ctx, p1, p2, j + 1, 1, len2 - 1))\n            return j;",
    ),
    (
        "pos = string_indexof(sp, searchp, endOfLastMatch);",
        "pos = string_indexof(ctx, sp, searchp, endOfLastMatch);",
    ),
    ("e = string_indexof(sp, rp, q);", "e = string_indexof(ctx, sp, rp, q);"),
    (
        "            if (!string_cmp(p, p1, i, 0, v_len)) {\n                ret = i;",
        "            if (knee_is_at(ctx, p, p1, i, 0, v_len)) {\n                ret = i;",
    ),
    (
        "            if (!string_cmp(p, p1, i, 0, v_len)) {\n                ret = 1;",
        "            if (knee_is_at(ctx, p, p1, i, 0, v_len)) {\n                ret = 1;",
    ),
    // Marks that combine with the letter before them are sorted by a method that compares each with all others.
    (
        "    buf = NULL; // appease bogus -Wmaybe-uninitialized warning\n    buf_len = JS_ToUTF32String(ctx, &buf, val);\n    JS_FreeValue(ctx, val);\n    if (buf_len < 0)\n        return JS_EXCEPTION;\n\n    if (argc == 0",
        "    buf = NULL; // appease bogus -Wmaybe-uninitialized warning\n    buf_len = JS_ToUTF32String(ctx, &buf, val);\n    JS_FreeValue(ctx, val);\n    if (buf_len < 0)\n        return JS_EXCEPTION;\n\
         \x20   for (int i = 0, marks = 0; i < buf_len; i++) {\n\
         \x20       marks = buf[i] < 0x300 || (buf[i] >= 0x3000 && buf[i] < 0xd800) || buf[i] >= 0x1f000 ? 0 : marks + 1;\n\
         \x20       if (marks > 4096) {\n            js_free(ctx, buf);\n\
         \x20           return JS_ThrowRangeError(ctx, \"too many marks in a row to normalize\");\n        }\n    }\n\n    if (argc == 0",
    ),
    // The objects around one that is written as JSON, which a setter of all arrays must not see.
    (
        "    jsc->stack = JS_NewArray(ctx);\n    if (JS_IsException(jsc->stack))\n        goto exception;",
        "    jsc->stack = JS_NewArray(ctx);\n    if (JS_IsException(jsc->stack))\n        goto exception;\n\
         \x20   if (!ctx->std_array_prototype && JS_SetPrototype(ctx, jsc->stack, JS_NULL) < 0)\n        goto exception;",
    ),
    // Work that grows with the size of what it works on.
    (
        "    js_parse_init(ctx, s, buf, buf_len, filename, 1);\n    if (json_next_token(s))",
        "    knee_work(ctx, buf_len / 64);\n    js_parse_init(ctx, s, buf, buf_len, filename, 1);\n    if (json_next_token(s))",
    ),
    (
        "    r = js_bigint_new(ctx, a->len + b->len);\n    if (!r)\n        return NULL;\n    js_mp_mul_basecase(",
        "    knee_work(ctx, (uint64_t)a->len * b->len / 16);\n    r = js_bigint_new(ctx, a->len + b->len);\n    if (!r)\n        return NULL;\n    js_mp_mul_basecase(",
    ),
    (
        "    na = a->len;\n    nb = b->len;\n\n    r = js_bigint_new(ctx, na + 2);",
        "    na = a->len;\n    nb = b->len;\n\n    knee_work(ctx, (uint64_t)na * nb / 16);\n    r = js_bigint_new(ctx, na + 2);",
    ),
];

/// The text of `quickjs.c` with all changes, or the first text that does not occur exactly once.
pub fn add(source: &str) -> Result<String, &'static str> {
    CHANGES.iter().try_fold(source.to_owned(), |text, (before, after)| {
        if text.matches(before).count() == 1 { Ok(text.replacen(before, after, 1)) } else { Err(*before) }
    })
}
