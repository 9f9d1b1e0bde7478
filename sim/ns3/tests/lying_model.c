/* A cycle model that lies: linked in front of one, it changes a bit of the LIE'th trace record, or of the LIE'th frame that
 * comes out (WEIR_LIE=record:300, frame:300), and leaves the rest to it. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "weir_model.h"

/* The one that is to be changed, counted from 0 in this process; -1: none of that kind. */
static long due(const char *kind) {
  const char *lie = getenv("WEIR_LIE");
  const size_t size = strlen(kind);
  return lie && strncmp(lie, kind, size) == 0 && lie[size] == ':' ? atol(lie + size + 1) : -1;
}

size_t weir_model_trace(weir_model *m, uint32_t *words, uint64_t *at_ns, size_t count) {
  static long seen;
  size_t (*truth)(weir_model *, uint32_t *, uint64_t *, size_t) =
      (size_t(*)(weir_model *, uint32_t *, uint64_t *, size_t))dlsym(RTLD_NEXT, "weir_model_trace");
  const size_t got = truth(m, words, at_ns, count);
  const long lie = due("record");
  if (lie >= seen && lie < seen + (long)got) words[12 * (lie - seen) + 3] ^= 1; /* q in bytes */
  seen += (long)got;
  return got;
}

void weir_model_recv(weir_model *m, uint8_t *bytes, uint32_t *lengths, uint64_t *first_ns, uint64_t *last_ns, uint8_t *tuser) {
  static long seen;
  void (*truth)(weir_model *, uint8_t *, uint32_t *, uint64_t *, uint64_t *, uint8_t *) =
      (void (*)(weir_model *, uint8_t *, uint32_t *, uint64_t *, uint64_t *, uint8_t *))dlsym(RTLD_NEXT, "weir_model_recv");
  size_t frames, size;
  weir_model_received(m, &frames, &size);
  truth(m, bytes, lengths, first_ns, last_ns, tuser);
  const long lie = due("frame");
  for (size_t i = 0, at = 0; i < frames; at += lengths[i++])
    if (seen++ == lie) bytes[at + lengths[i] - 1] ^= 1;
}
