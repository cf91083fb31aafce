/* A cuDNN that computes on the CPU, built in pieces as the real one is: with -DPART=graph it is a sub-library that only knows
 * its version, without it is the main library, which opens sub-libraries by bare name and asks one for the version. -DVERSION is
 * what cudnnGetVersion answers. FAKE_CUDNN makes it misbehave: "forward=5000" (a status), "forward=abort", "forward=crash",
 * "forward=hang", "forward=wrong", "forward=lazy" (the last element is not written), "forward=broken" (the kernel fails and
 * takes the context with it); the same for backward-data, backward-filter, create, plan, graph, and for threads: a plan that
 * another thread than the first prepares. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#define API __declspec(dllexport)
#else
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>
#define API
#endif

#define MAJOR (VERSION < 10000 ? VERSION / 1000 : VERSION / 10000)

#ifdef PART
API size_t fakeVersion(void) { return VERSION; }
/* As the real parts have it: cudnn_graph_version is 0x091300 in 9.19.0. */
#define NAME2(part) cudnn_##part##_version
#define NAME(part) NAME2(part)
API const int NAME(PART) = MAJOR << 16 | (VERSION % (MAJOR < 9 ? 1000 : 10000) / 100) << 8 | VERSION % 100;
#else

#if VERSION < 10000
enum { BAD_PARAM = 3, NOT_SUPPORTED = 9 };
#else
enum { BAD_PARAM = 2000, NOT_SUPPORTED = 3000, NOT_FINALIZED = 2004, MISMATCH = 1002 };
#endif

/* Opens a part as the dispatcher does: not there means abort. */
static size_t part_version(const char *part) {
    char name[256];
    size_t (*version)(void) = NULL;
#ifdef _WIN32
    snprintf(name, sizeof name, "cudnn_%s64_%d.dll", part, MAJOR);
    HMODULE module = LoadLibraryA(name);
    if (module) version = (size_t(*)(void))(void *)GetProcAddress(module, "fakeVersion");
#else
    snprintf(name, sizeof name, "libcudnn_%s.so.%d", part, MAJOR);
    void *module = dlopen(name, RTLD_NOW);
    if (module) version = (size_t(*)(void))dlsym(module, "fakeVersion");
#endif
    if (!version) {
        fprintf(stderr, "Unable to load any of {%s}\n", name);
        fprintf(stderr, "Invalid handle. Cannot load symbol fakeVersion\n");
        abort();
    }
    return version();
}

API size_t cudnnGetVersion(void) {
    return MAJOR == 7 ? VERSION : part_version(MAJOR == 8 ? "ops_infer" : "graph");
}
#ifndef CUDART
#define CUDART 12010
#endif
API size_t cudnnGetCudartVersion(void) { return CUDART; }
API void cudnnGetLastErrorString(char *text, size_t size) { snprintf(text, size, "as FAKE_CUDNN asked"); }

static const char *knob(const char *name) {
    static char value[64];
    const char *list = getenv("FAKE_CUDNN");
    size_t length = strlen(name);
    while (list && *list) {
        if (!strncmp(list, name, length) && list[length] == '=') {
            snprintf(value, sizeof value, "%s", list + length + 1);
            value[strcspn(value, ",")] = 0;
            return value;
        }
        list = strchr(list, ',');
        if (list) list++;
    }
    return "";
}

/* What misbehaviour of every call has in common; a status, or 0 to go on. */
static int misbehave(const char *where) {
    const char *what = knob(where);
    if (!strcmp(what, "abort")) {
        fprintf(stderr, "Could not load library libcublasLt.so.12. Error: libcublasLt.so.12: cannot open shared object file\n");
        abort();
    }
    if (!strcmp(what, "crash")) *(volatile int *)1 = 0;
    if (!strcmp(what, "hang"))
        for (;;)
#ifdef _WIN32
            Sleep(1000);
#else
            pause();
#endif
    return atoi(what);
}

API int cudnnCreate(void **handle) {
    *handle = malloc(1);
    return misbehave("create");
}
API int cudnnDestroy(void *handle) { free(handle); return 0; }

/* ---- the mathematics ---- */

typedef struct { int64_t size[4], stride[4]; int type; } Tensor;

static int64_t place(const Tensor *t, int64_t a, int64_t b, int64_t c, int64_t d) {
    return a * t->stride[0] + b * t->stride[1] + c * t->stride[2] + d * t->stride[3];
}
static float half_to_float(uint16_t h) {
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    float value = exponent ? ldexpf((float)(mantissa + 1024), exponent - 25) : ldexpf((float)mantissa, -24);
    if (exponent == 31) value = mantissa ? NAN : INFINITY;
    return h & 0x8000 ? -value : value;
}
static uint16_t float_to_half(float value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    float magnitude = fabsf(value);
    if (magnitude >= 65520) return sign | 0x7c00;
    frexpf(magnitude, &exponent);
    if (exponent < -13) return sign | (uint16_t)lrintf(ldexpf(magnitude, 24));
    return (uint16_t)(sign + ((exponent + 14) << 10) + (uint16_t)lrintf(ldexpf(magnitude, 11 - exponent)) - 1024);
}
static double load(const void *data, int type, int64_t at) {
    if (type == 0) return ((const float *)data)[at];
    if (type == 2) return half_to_float(((const uint16_t *)data)[at]);
    uint32_t bits = (uint32_t)((const uint16_t *)data)[at] << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
static void store(void *data, int type, int64_t at, double value) {
    if (type == 0) ((float *)data)[at] = (float)value;
    else if (type == 2) ((uint16_t *)data)[at] = float_to_half((float)value);
    else {
        float single = (float)value;
        uint32_t bits;
        memcpy(&bits, &single, 4);
        ((uint16_t *)data)[at] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
}

enum { FORWARD, BACKWARD_DATA, BACKWARD_FILTER };
static const char *const directions[] = {"forward", "backward-data", "backward-filter"};

/* The output images are cut into products of input and filter; each direction adds the products up elsewhere. */
static void accumulate(int direction, const Tensor *x, const Tensor *w, const Tensor *y, int64_t pad, void *px, void *pw,
                       void *py, double *sums) {
    int64_t depth = w->size[1], per_group = w->size[0] / (x->size[1] / depth);
    for (int64_t n = 0; n < y->size[0]; n++)
        for (int64_t k = 0; k < y->size[1]; k++)
            for (int64_t c = 0; c < depth; c++)
                for (int64_t r = 0; r < w->size[2]; r++)
                    for (int64_t s = 0; s < w->size[3]; s++)
                        for (int64_t p = 0; p < y->size[2]; p++)
                            for (int64_t q = 0; q < y->size[3]; q++) {
                                int64_t h = p + r - pad, v = q + s - pad;
                                if (h < 0 || h >= x->size[2] || v < 0 || v >= x->size[3]) continue;
                                int64_t ix = place(x, n, k / per_group * depth + c, h, v);
                                int64_t iw = place(w, k, c, r, s), iy = place(y, n, k, p, q);
                                if (direction == FORWARD) sums[iy] += load(px, x->type, ix) * load(pw, w->type, iw);
                                if (direction == BACKWARD_DATA) sums[ix] += load(py, y->type, iy) * load(pw, w->type, iw);
                                if (direction == BACKWARD_FILTER) sums[iw] += load(px, x->type, ix) * load(py, y->type, iy);
                            }
}

static int convolve(int direction, const Tensor *x, const Tensor *w, const Tensor *y, int64_t pad, void *px, void *pw,
                    void *py) {
    int status = misbehave(directions[direction]);
    if (status) return status;
    const char *how = knob(directions[direction]);
    const Tensor *target = direction == FORWARD ? y : direction == BACKWARD_DATA ? x : w;
    void *result = direction == FORWARD ? py : direction == BACKWARD_DATA ? px : pw;
    int64_t count = target->size[0] * target->size[1] * target->size[2] * target->size[3];
    if (!strcmp(how, "broken")) {
#ifndef _WIN32
        void (*breaking)(int) = (void (*)(int))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fakeBreakContext");
        breaking(700);
#endif
        return 0;
    }
    double *sums = calloc((size_t)count, sizeof *sums);
    accumulate(direction, x, w, y, pad, px, pw, py, sums);
    for (int64_t i = 0; i < count; i++) {
        if (!strcmp(how, "wrong") && i % 7 == 3) sums[i] += 1;
        if (!strcmp(how, "lazy") && i == count - 1) continue;
        store(result, target->type, i, sums[i]);
    }
    free(sums);
    return 0;
}

/* ---- the legacy API ---- */

typedef struct { Tensor tensor; int padding, groups; } Legacy;

static int create(void **descriptor) { return (*descriptor = calloc(1, sizeof(Legacy))) ? 0 : 2; }
static int destroy(void *descriptor) { free(descriptor); return 0; }
API int cudnnCreateTensorDescriptor(void **d) {
    if (MAJOR == 8) part_version("cnn_infer");
    if (MAJOR == 9) part_version("cnn");
    return create(d);
}
API int cudnnCreateFilterDescriptor(void **d) { return create(d); }
API int cudnnCreateConvolutionDescriptor(void **d) { return create(d); }
API int cudnnDestroyTensorDescriptor(void *d) { return destroy(d); }
API int cudnnDestroyFilterDescriptor(void *d) { return destroy(d); }
API int cudnnDestroyConvolutionDescriptor(void *d) { return destroy(d); }

static int describe(Legacy *d, int format, int type, int a, int b, int c, int e) {
    int64_t size[4] = {a, b, c, e}, nchw[4] = {(int64_t)b * c * e, (int64_t)c * e, e, 1},
            nhwc[4] = {(int64_t)b * c * e, 1, (int64_t)e * b, b};
    memcpy(d->tensor.size, size, sizeof size);
    memcpy(d->tensor.stride, format ? nhwc : nchw, sizeof size);
    d->tensor.type = type;
    return MAJOR == 7 && type == 9 ? BAD_PARAM : 0;
}
API int cudnnSetTensor4dDescriptor(void *d, int format, int type, int n, int c, int h, int w) {
    return describe(d, format, type, n, c, h, w);
}
API int cudnnSetFilter4dDescriptor(void *d, int type, int format, int k, int c, int h, int w) {
    return describe(d, format, type, k, c, h, w);
}
API int cudnnSetConvolution2dDescriptor(void *d, int ph, int pw, int u, int v, int dh, int dw, int mode, int type) {
    ((Legacy *)d)->padding = ph;
    return ph == pw && u == 1 && v == 1 && dh == 1 && dw == 1 && mode == 1 && type == 0 ? 0 : BAD_PARAM;
}
API int cudnnSetConvolutionGroupCount(void *d, int groups) { ((Legacy *)d)->groups = groups; return 0; }
API int cudnnSetConvolutionMathType(void *d, int type) { (void)d; return MAJOR == 7 && type > 2 ? BAD_PARAM : 0; }

/* Algorithms 0 and 1 exist; 1 wants a workspace. */
static int workspace(int algorithm, size_t *bytes) {
    *bytes = algorithm == 1 ? 4096 : 0;
    return algorithm > 1 ? NOT_SUPPORTED : 0;
}
API int cudnnGetConvolutionForwardWorkspaceSize(void *h, void *x, void *w, void *c, void *y, int a, size_t *b) {
    (void)h, (void)x, (void)w, (void)c, (void)y;
    return workspace(a, b);
}
API int cudnnGetConvolutionBackwardDataWorkspaceSize(void *h, void *w, void *y, void *c, void *x, int a, size_t *b) {
    (void)h, (void)x, (void)w, (void)c, (void)y;
    return workspace(a, b);
}
API int cudnnGetConvolutionBackwardFilterWorkspaceSize(void *h, void *x, void *y, void *c, void *w, int a, size_t *b) {
    (void)h, (void)x, (void)w, (void)c, (void)y;
    return workspace(a, b);
}

static int legacy(int direction, const float *alpha, const float *beta, void *x, void *px, void *w, void *pw, void *y,
                  void *py, void *c, int algorithm, void *space, size_t bytes) {
    Legacy *dx = x, *dw = w, *dy = y, *dc = c;
    if (*alpha != 1 || *beta != 0 || (algorithm == 1 && (!space || bytes < 4096))) return BAD_PARAM;
    if (dx->tensor.size[1] != dw->tensor.size[1] * dc->groups) return BAD_PARAM;
    return convolve(direction, &dx->tensor, &dw->tensor, &dy->tensor, dc->padding, px, pw, py);
}
API int cudnnConvolutionForward(void *h, float *alpha, void *x, void *px, void *w, void *pw, void *c, int a, void *space,
                                size_t bytes, float *beta, void *y, void *py) {
    (void)h;
    return legacy(FORWARD, alpha, beta, x, px, w, pw, y, py, c, a, space, bytes);
}
API int cudnnConvolutionBackwardData(void *h, float *alpha, void *w, void *pw, void *y, void *py, void *c, int a, void *space,
                                     size_t bytes, float *beta, void *x, void *px) {
    (void)h;
    if (MAJOR == 8) part_version("cnn_train");
    return legacy(BACKWARD_DATA, alpha, beta, x, px, w, pw, y, py, c, a, space, bytes);
}
API int cudnnConvolutionBackwardFilter(void *h, float *alpha, void *x, void *px, void *y, void *py, void *c, int a,
                                       void *space, size_t bytes, float *beta, void *w, void *pw) {
    (void)h;
    if (MAJOR == 8) part_version("cnn_train");
    return legacy(BACKWARD_FILTER, alpha, beta, x, px, w, pw, y, py, c, a, space, bytes);
}

/* ---- the graph API ---- */
#if VERSION >= 8000

enum { CONVOLUTION = 1, ENGINE = 2, CONFIG = 3, HEURISTICS = 4, PLAN = 5, GRAPH = 15, PACK = 16, TENSOR = 17 };
typedef struct { int name, type; int64_t count, value[8]; } Attribute;
typedef struct { int kind, ready, used; Attribute attributes[16]; } Node;

static size_t width(int type) {
    switch (type) {
    case 1: case 4: case 7: case 8: case 11: return 4; /* enumerations and floats */
    default: return 8;                                   /* integers of 64 bits, pointers */
    }
}
static Attribute *find(Node *node, int name) {
    for (int i = 0; node && i < node->used; i++)
        if (node->attributes[i].name == name) return &node->attributes[i];
    return NULL;
}
static int64_t value(Node *node, int name) { return find(node, name)->value[0]; }
static Node *link_to(Node *node, int name) {
    Attribute *a = find(node, name);
    return a ? (Node *)(intptr_t)a->value[0] : NULL;
}
static int put(Node *node, int name, int type, int64_t count, const void *from) {
    if (count > 8 || node->used == 16) return BAD_PARAM;
    Attribute *a = &node->attributes[node->used++];
    a->name = name, a->type = type, a->count = count;
    for (int64_t i = 0; i < count; i++) memcpy(&a->value[i], (const char *)from + i * (int64_t)width(type), width(type));
    return 0;
}

API int cudnnBackendCreateDescriptor(int kind, void **descriptor) {
    Node *node = calloc(1, sizeof *node);
    node->kind = kind;
    *descriptor = node;
    return 0;
}
API int cudnnBackendDestroyDescriptor(void *descriptor) { free(descriptor); return 0; }
API int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count, const void *from) {
    Node *node = descriptor;
    if (node->ready) return BAD_PARAM;
    return put(node, name, type, count, from);
}

/* The names that must be there, and the type of each. */
static int complete(Node *node, const int (*wanted)[2], int count) {
    for (int i = 0; i < count; i++) {
        Attribute *a = find(node, wanted[i][0]);
        if (!a || a->type != wanted[i][1]) {
            fprintf(stderr, "descriptor %d lacks attribute %d of type %d\n", node->kind, wanted[i][0], wanted[i][1]);
            return 0;
        }
    }
    return 1;
}
#define NEEDS(...)                                                       \
    do {                                                                 \
        static const int wanted[][2] = {__VA_ARGS__};                    \
        if (!complete(node, wanted, sizeof wanted / sizeof *wanted)) return BAD_PARAM; \
    } while (0)

/* The first attribute of an operation; its neighbours follow in the header's order. */
static int first_attribute(int kind) { return kind == 10 ? 700 : kind == 12 ? 706 : 712; }
static Node *operation_of(Node *graph) { return link_to(graph, 801); }
static int64_t tensor_type(Node *graph) {
    Node *operation = operation_of(graph);
    return value(link_to(operation, first_attribute(operation->kind) + 4), 901);
}
static int channels_last(Node *graph) {
    Node *operation = operation_of(graph);
    int name = operation->kind == 10 ? 704 : operation->kind == 12 ? 710 : 716;
    return find(link_to(operation, name), 903)->value[1] == 1;
}

/* Engine 0 is for channels last only, 1 uses tensor cores, 2 sums 16-bit numbers in 16 bits. */
API int cudnnBackendFinalize(void *descriptor) {
    Node *node = descriptor;
    switch (node->kind) {
    case TENSOR: NEEDS({900, 3}, {901, 1}, {902, 3}, {903, 3}, {906, 3}); break;
    case CONVOLUTION: NEEDS({100, 1}, {101, 7}, {102, 3}, {103, 3}, {104, 3}, {105, 3}, {106, 3}); break;
    case 10: NEEDS({700, 4}, {701, 4}, {702, 15}, {703, 15}, {704, 15}, {705, 15}); break;
    case 12: NEEDS({706, 4}, {707, 4}, {708, 15}, {709, 15}, {710, 15}, {711, 15}); break;
    case 11: NEEDS({712, 4}, {713, 4}, {714, 15}, {715, 15}, {716, 15}, {717, 15}); break;
    case GRAPH: {
        NEEDS({800, 0}, {801, 15});
        int status = misbehave("graph");
        if (status) return status;
        break;
    }
    case HEURISTICS:
        NEEDS({200, 8}, {201, 15});
        if (MAJOR == 9) part_version("heuristic");
        break;
    case ENGINE:
        NEEDS({1300, 15}, {1301, 3});
        if (value(node, 1301) == 0 && !channels_last(link_to(node, 1300))) return NOT_SUPPORTED;
        break;
    case CONFIG: NEEDS({300, 15}); break;
    case PLAN: {
        NEEDS({400, 0}, {401, 15});
#ifndef _WIN32
        if (getpid() != (int)syscall(SYS_gettid)) misbehave("threads");
#endif
        int status = misbehave("plan");
        if (status) return status;
        break;
    }
    case PACK: NEEDS({1000, 3}, {1001, 6}, {1003, 6}); break;
    default: return BAD_PARAM;
    }
    if (MAJOR == 9 && part_version("graph") != VERSION) return VERSION < 10000 ? 14 : 1002;
    node->ready = 1;
    return 0;
}

API int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t room, int64_t *count, void *to) {
    Node *node = descriptor;
    int64_t numbers[8];
    if (!node->ready) return BAD_PARAM;
    if (node->kind == HEURISTICS && name == 202) {
        *count = 1;
        if (room) { /* Names engine 1. */
            int64_t number = 1;
            Node *config = *(Node **)to, *engine = calloc(1, sizeof *engine);
            engine->kind = ENGINE, engine->ready = 1;
            intptr_t graph = (intptr_t)link_to(node, 201), made = (intptr_t)engine;
            put(engine, 1300, 15, 1, &graph);
            put(engine, 1301, 3, 1, &number);
            put(config, 300, 15, 1, &made);
            config->ready = 1;
        }
        return 0;
    }
    if (node->kind == CONFIG && name == 300) {
        *count = 1;
        **(Node **)to = *link_to(node, 300);
        return 0;
    }
    if (node->kind == GRAPH && name == 802) numbers[0] = 3, *count = 1;
    else if (node->kind == PLAN && name == 402)
        numbers[0] = value(link_to(link_to(node, 401), 300), 1301) == 1 ? 4096 : 0, *count = 1;
    else if (node->kind == ENGINE && name == 1303) {
        int64_t engine = value(node, 1301), half = tensor_type(link_to(node, 1300)) != 0;
        *count = engine == 1 || (engine == 2 && half);
        numbers[0] = engine == 1 ? 0 : 2;
    } else {
        Attribute *a = find(node, name);
        if (!a || a->type != type) return BAD_PARAM;
        *count = a->count;
        memcpy(numbers, a->value, sizeof numbers);
    }
    for (int64_t i = 0; i < *count && i < room; i++) memcpy((char *)to + i * (int64_t)width(type), &numbers[i], width(type));
    return 0;
}

static Tensor tensor_of(Node *node) {
    Tensor tensor;
    memcpy(tensor.size, find(node, 902)->value, sizeof tensor.size);
    memcpy(tensor.stride, find(node, 903)->value, sizeof tensor.stride);
    tensor.type = (int)value(node, 901);
    return tensor;
}
static void *pointer_of(Node *pack, Node *tensor) {
    Attribute *ids = find(pack, 1000), *pointers = find(pack, 1001);
    for (int64_t i = 0; i < ids->count; i++)
        if (ids->value[i] == value(tensor, 906)) return (void *)(intptr_t)pointers->value[i];
    return NULL;
}
API int cudnnBackendExecute(void *handle, void *plan, void *pack) {
    Node *engine = link_to(link_to(plan, 401), 300);
    Node *operation = operation_of(link_to(engine, 1300));
    int first = first_attribute(operation->kind);
    int direction = operation->kind == 10 ? FORWARD : operation->kind == 12 ? BACKWARD_DATA : BACKWARD_FILTER;
    Node *filter = link_to(operation, first + 3), *input = link_to(operation, first + 4), *output = link_to(operation, first + 5);
    (void)handle;
    if (value(engine, 1301) == 1 && !value(pack, 1003)) return BAD_PARAM;
    Tensor x = tensor_of(input), w = tensor_of(filter), y = tensor_of(output);
    int64_t padding = value(link_to(operation, first + 2), 105);
    return convolve(direction, &x, &w, &y, padding, pointer_of(pack, input), pointer_of(pack, filter), pointer_of(pack, output));
}
#endif
#endif
