"""Facts about CANN's C interface to operators: signatures of aclnn functions and prototypes.

The twin builds functions from them, the operator kit calls functions by them.
"""
