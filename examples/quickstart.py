"""Publish blood glucose, keep the patients' sex secret: scikit-learn's diabetes table, no download."""

from sklearn.datasets import load_diabetes

import puffer_frames  # noqa: F401  (registers .puffer)

patients = load_diabetes(scaled=False, as_frame=True).frame  # sex is coded 1 and 2; s6 is blood glucose

plan = patients.puffer.calibrate(secret="sex", public="s6", epsilon=1.0)
print(plan, end="\n\n")

released = plan.release(patients)
print(released.head(), end="\n\n")
print(released.puffer.certificate)
