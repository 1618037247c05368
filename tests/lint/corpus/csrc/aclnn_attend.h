#pragma once
extern "C" aclnnStatus aclnnAttendGetWorkspaceSize(const aclTensor *q, const aclTensor *cacheRef, float scale,
                                                   aclTensor *out, uint64_t *workspaceSize,
                                                   aclOpExecutor **executor);
