#!/bin/sh
# Entry point of the Spark image: `driver` and `executor` are what Spark on Kubernetes asks of a container, with the
# variables that it sets (BasicExecutorFeatureStep, DriverCommandFeatureStep); everything else is a kafkactl command.
set -eu
role=${1:-}
case $role in driver | executor) ;; *) exec kafkactl "$@" ;; esac
shift
SPARK_HOME=${SPARK_HOME:-$(python -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent)')}
export SPARK_HOME
cd "$(mktemp -d)" # Spark unpacks files of the application in the working directory

if [ "$role" = driver ]; then
  exec "$SPARK_HOME/bin/spark-submit" --deploy-mode client \
    --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" "$@"
fi

at=0
while value=$(printenv "SPARK_JAVA_OPT_$at"); do
  set -- "$@" "$value"
  at=$((at + 1))
done
exec java "$@" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
  -cp "${SPARK_CONF_DIR:-}:${SPARK_CLASSPATH:-}:$SPARK_HOME/jars/*" \
  org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
  --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
  --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
  --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
