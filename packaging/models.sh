#!/usr/bin/env bash
# Puts the models that recognize text in photos and scans into a directory: packaging/models.sh DIR
# DIR is `models` in the server's data directory, such as /var/lib/hearth/models. Needs python3 with pip, and reaches pypi.org once.
# The models are the small ones of PP-OCRv6 (Apache-2.0), as the Python package rapidocr ships them.
set -euo pipefail

package=rapidocr version=3.10.0
wheel_sha256=2fc34e26cd0f48514804a94f8832283039c7334076bff60768b1fed9ad068050
det_sha256=090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f
rec_sha256=6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884

dir=${1:?"name the directory of the models: packaging/models.sh DIR"}
verify() { echo "$1  $2" | sha256sum --check --status; } # SHA256 FILE
if verify "$det_sha256" "$dir/det.onnx" 2>/dev/null && verify "$rec_sha256" "$dir/rec.onnx" 2>/dev/null; then
  echo "the models are already in $dir"
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
printf '%s==%s --hash=sha256:%s\n' "$package" "$version" "$wheel_sha256" >"$work/wanted"
"$work/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
  --requirement "$work/wanted" --dest "$work"
python3 -m zipfile -e "$work/$package-$version-py3-none-any.whl" "$work/wheel"
mkdir -p "$dir"
place() { # MODEL NAME SHA256
  verify "$3" "$work/wheel/rapidocr/models/$1" || { echo "$1 has another checksum than expected; nothing was changed" >&2; exit 1; }
  install -m 644 "$work/wheel/rapidocr/models/$1" "$dir/$2.new"
  mv "$dir/$2.new" "$dir/$2"
}
place PP-OCRv6_det_small.onnx det.onnx "$det_sha256"
place PP-OCRv6_rec_small.onnx rec.onnx "$rec_sha256"
echo "the models are in $dir"
