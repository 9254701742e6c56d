"""`kafkactl level-of RELEASE`: an example of a plugin, which uses the library as any program does."""

import click

from kafkactl import features


@click.command("level-of")
@click.argument("release")
def command(release: str) -> None:
    """Print the level of metadata.version that belongs to a RELEASE of Kafka.

    An unknown release is an error of the library: kafkactl shows it like its own, with its exit code.
    """
    mapping = features.version_mapping(release)
    for feature in mapping.to_dict()["features"]:
        if feature["name"] == "metadata.version":
            click.echo(feature["level"])
