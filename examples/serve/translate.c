/* Translates lines of text with a file of format "onnx_text" or "onnx_align".
 *
 *     apt-get install gcc libonnxruntime-dev
 *     cc -O2 -I/usr/include/onnxruntime translate.c -lonnxruntime -o translate
 *     ./translate ../../saved_models/pronounce_en/pronounce.onnx < words
 *
 * It reads UTF-8 from standard input, and writes the best translation of each
 * line.
 * A file for words needs operations of onnxruntime-extensions: give the path
 * of their library, as `python -c "import onnxruntime_extensions as e;
 * print(e.get_library_path())"` prints it, behind that of the file.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <onnxruntime_c_api.h>

enum { BATCH = 64 }; /* texts that are translated at once */

static const OrtApi *ort;

/* End with the message of a failure, if there is one. */
static void check(OrtStatus *status) {
  if (status == NULL) return;
  fprintf(stderr, "translate: %s\n", ort->GetErrorMessage(status));
  exit(1);
}

/* Copy lines into a tensor, read it, and write the first column. */
static void translate(OrtSession *session, char **lines, size_t *lengths,
                      int64_t count) {
  const char *inputs[] = {"text"}, *outputs[] = {"translations"};
  ONNXTensorElementDataType strings = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
  OrtTensorTypeAndShapeInfo *info;
  OrtValue *texts, *found = NULL;
  OrtAllocator *allocator;
  int64_t shape[2]; /* texts, and the translations of each */

  check(ort->GetAllocatorWithDefaultOptions(&allocator));
  check(ort->CreateTensorAsOrtValue(allocator, &count, 1, strings, &texts));
  for (int64_t i = 0; i < count; i++) { /* a text may have bytes of 0 */
    char *buffer;
    check(ort->GetResizedStringTensorElementBuffer(texts, i, lengths[i],
                                                   &buffer));
    memcpy(buffer, lines[i], lengths[i]);
  }
  const OrtValue *given[] = {texts};
  check(ort->Run(session, NULL, inputs, given, 1, outputs, 1, &found));
  check(ort->GetTensorTypeAndShape(found, &info));
  check(ort->GetDimensions(info, shape, 2));
  for (int64_t i = 0; i < count; i++) {
    size_t length, best = i * shape[1];
    check(ort->GetStringTensorElementLength(found, best, &length));
    char *text = malloc(length + 1);
    if (text == NULL) abort();
    check(ort->GetStringTensorElement(found, length, best, text));
    text[length] = '\n';
    fwrite(text, 1, length + 1, stdout);
    free(text);
  }
  ort->ReleaseTensorTypeAndShapeInfo(info);
  ort->ReleaseValue(found);
  ort->ReleaseValue(texts);
}

int main(int argc, char **argv) {
  char *lines[BATCH] = {NULL};
  size_t sizes[BATCH] = {0}, lengths[BATCH];
  OrtSessionOptions *options;
  OrtSession *session;
  OrtEnv *environment;
  int64_t count = 0;
  ssize_t length;

  if (argc < 2 || argc > 3) {
    fputs("usage: translate FILE [LIBRARY] < texts\n", stderr);
    return 2;
  }
  ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  if (ort == NULL) {
    fputs("translate: onnxruntime is older than its header\n", stderr);
    return 1;
  }
  check(ort->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "translate", &environment));
  check(ort->CreateSessionOptions(&options));
  if (argc == 3) check(ort->RegisterCustomOpsLibrary_V2(options, argv[2]));
  check(ort->CreateSession(environment, argv[1], options, &session));
  while ((length = getline(&lines[count], &sizes[count], stdin)) >= 0) {
    if (length > 0 && lines[count][length - 1] == '\n') length--;
    lengths[count++] = length;
    if (count < BATCH) continue;
    translate(session, lines, lengths, count);
    count = 0;
  }
  if (count > 0) translate(session, lines, lengths, count);
  for (int i = 0; i < BATCH; i++) free(lines[i]);
  ort->ReleaseSession(session);
  ort->ReleaseSessionOptions(options);
  ort->ReleaseEnv(environment);
  if (ferror(stdin) || fflush(stdout) != 0 || ferror(stdout)) {
    perror("translate");
    return 1;
  }
  return 0;
}
