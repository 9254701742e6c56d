"""Writer of the bill of materials of a wheel next to it: `python -m scripts.make_sbom DIST` (CycloneDX 1.6, JSON).

Components are the packages of requirements/*.txt, with versions, markers and the SHA-256 of every archive that pip
accepts for them; which requires which, and under what licence, is declared by the packages installed here. The same
wheel and requirements give the same bytes: the serial number comes from the wheel, the time from SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import hashlib
import os
import sys
import uuid
import zipfile
from datetime import UTC, datetime
from importlib.metadata import Distribution
from pathlib import Path
from typing import Final

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.licenses import below, license_expression, needed
from scripts.make_requirements import CORE, FILES, FIRST, locked

VERSION: Final = SchemaVersion.V1_6
# Licence and requirements of packages that need a C library to be built, and so are often not installed here.
NOT_INSTALLED: Final = {"gssapi": ("ISC", "decorator"), "decorator": ("BSD-2-Clause", "")}
EXTRAS: Final = tuple(name for name in FILES if name not in (FIRST, CORE))


class SbomError(Exception):
    """The bill of materials would leave something out."""


def bill(wheel: Path) -> str:
    """Return the bill of materials of a wheel as JSON. Raises SbomError if it would be incomplete or break the
    schema."""
    metadata = _metadata(wheel)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    root = Component(
        name=metadata.name,
        version=str(metadata.version),
        type=ComponentType.APPLICATION,
        bom_ref=_address(metadata.name, str(metadata.version)).to_string(),
        purl=_address(metadata.name, str(metadata.version)),
        licenses=[LicenseFactory().make_from_string(metadata.license_expression or "")],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
    )
    direct = metadata.requires_dist or []
    packages = needed(str(requirement) for requirement in _of_extras(direct, ("", *EXTRAS)))
    parts = _components(packages)
    serial = uuid.uuid5(uuid.NAMESPACE_URL, f"{root.purl}#sha256:{digest}")
    bom = Bom(components=[part for group in parts.values() for part in group], serial_number=serial)
    bom.metadata = BomMetaData(component=root, timestamp=_built_at(wheel))
    _connect(bom, root, parts, _of_extras(direct, ("", *EXTRAS)))
    for name, group in parts.items():
        for part in group:
            _connect(bom, part, parts, _requires(name, packages.get(name)))
    text = make_outputter(bom, OutputFormat.JSON, VERSION).output_as_string(indent=1) + "\n"
    if (flaw := JsonStrictValidator(VERSION).validate_str(text)) is not None:
        raise SbomError(f"the bill of materials of {wheel.name} breaks its schema: {flaw}")
    return text


def _components(packages: dict[str, Distribution | None]) -> dict[str, list[Component]]:
    """Return the components of each package, by canonical name; a package has two where versions differ by Python."""
    core = set(locked(CORE))
    asked_by: dict[Requirement, list[str]] = {}
    hashes: dict[Requirement, list[str]] = {}
    for name in (CORE, *EXTRAS):
        for requirement, archives in locked(name).items():
            asked_by.setdefault(requirement, []).append(name)
            hashes[requirement] = archives
    parts: dict[str, list[Component]] = {}
    for requirement, names in asked_by.items():
        extras = () if requirement in core else tuple(names)
        name = canonicalize_name(requirement.name)
        parts.setdefault(name, []).append(_component(requirement, extras, hashes[requirement], packages.get(name)))
    if missing := sorted(set(packages) - set(parts)):
        raise SbomError(f"{', '.join(missing)}: required, but not locked in requirements/: run `make requirements`")
    return parts


def _component(
    requirement: Requirement, extras: tuple[str, ...], archives: list[str], package: Distribution | None
) -> Component:
    name = canonicalize_name(requirement.name)
    (exact,) = requirement.specifier
    address = _address(name, exact.version)
    license_ = license_expression(package) if package is not None else NOT_INSTALLED.get(name, ("", ""))[0]
    if not license_:
        raise SbomError(f"the licence of {name} is not known: install it (`pip install {requirement}`)")
    properties = [Property(name="kafkactl:extra", value=extra) for extra in extras]
    if requirement.marker is not None:
        properties.append(Property(name="kafkactl:marker", value=str(requirement.marker)))
    return Component(
        name=name,
        version=exact.version,
        bom_ref=address.to_string(),
        purl=address,
        scope=ComponentScope.OPTIONAL if extras else ComponentScope.REQUIRED,
        licenses=[LicenseFactory().make_from_string(license_)],
        properties=properties,
        external_references=[
            ExternalReference(
                type=ExternalReferenceType.DISTRIBUTION,
                url=XsUri(f"https://pypi.org/project/{name}/{exact.version}/#files"),
                comment="SHA-256 of each archive that requirements/ accepts",
                hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in archives],
            )
        ],
    )


def _requires(name: str, package: Distribution | None) -> list[Requirement]:
    if package is not None:
        return below(package)
    return [Requirement(line) for line in NOT_INSTALLED[name][1].split()]


def _connect(bom: Bom, part: Component, parts: dict[str, list[Component]], requires: list[Requirement]) -> None:
    names = {canonicalize_name(requirement.name) for requirement in requires}
    bom.register_dependency(part, [other for name in sorted(names & set(parts)) for other in parts[name]])


def _of_extras(requirements: list[Requirement], extras: tuple[str, ...]) -> list[Requirement]:
    return [
        each
        for each in requirements
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras)
    ]


def _address(name: str, version: str) -> PackageURL:
    return PackageURL("pypi", name=name, version=version)


def _metadata(wheel: Path) -> Metadata:
    with zipfile.ZipFile(wheel) as archive:
        (member,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        text = archive.read(member)
    return Metadata.from_email(text, validate=False)


def _built_at(wheel: Path) -> datetime:
    """Return SOURCE_DATE_EPOCH, as for the wheel's own times, or the time of the wheel's newest member."""
    if (epoch := os.environ.get("SOURCE_DATE_EPOCH")) is not None:
        return datetime.fromtimestamp(int(epoch), UTC)
    with zipfile.ZipFile(wheel) as archive:
        return datetime(*max(entry.date_time for entry in archive.infolist()), tzinfo=UTC)


def place(wheel: Path) -> Path:
    """Return where the bill of materials of a wheel is written."""
    return wheel.with_name("-".join(wheel.name.split("-")[:2]) + ".cdx.json")


def main(arguments: list[str]) -> None:
    """Write that of the only wheel in the folder."""
    wheels = sorted(Path(arguments[0]).glob("*.whl")) if len(arguments) == 1 else []
    if len(wheels) != 1:
        sys.exit("usage: python -m scripts.make_sbom DIST, a folder with one wheel")
    try:
        text = bill(wheels[0])
    except SbomError as error:
        sys.exit(f"error: {error}")
    place(wheels[0]).write_text(text, encoding="utf-8")
    print(f"{place(wheels[0])}: {text.count('bom-ref') - 1} components")


if __name__ == "__main__":
    main(sys.argv[1:])
