"""Plays a gateway with the client classes of PyPI's rauc-hawkbit, in the order of its own D-Bus client.

    rauc_gateway.py HOST:PORT CONTROLLER_ID TOKEN DIRECTORY

What would be RAUC is a file: DIRECTORY/version holds the version that runs, DIRECTORY/installs one line per install, and
a bundle is its version and a newline, then anything. It polls until it is killed.
"""

import asyncio
import os
import re
import sys

import aiohttp
from rauc_hawkbit.ddi.cancel_action import CancelStatusExecution, CancelStatusResult
from rauc_hawkbit.ddi.client import ConfigStatusExecution, ConfigStatusResult, DDIClient
from rauc_hawkbit.ddi.deployment_base import DeploymentStatusExecution, DeploymentStatusResult


class Gateway:
    def __init__(self, ddi, directory):
        self.ddi = ddi
        self.directory = directory
        self.bundle = os.path.join(directory, "bundle")

    def version(self):
        with open(os.path.join(self.directory, "version")) as file:
            return file.read()

    async def identify(self):
        await self.ddi.configData(ConfigStatusExecution.closed, ConfigStatusResult.success, firmware=self.version())

    async def cancel(self, base):
        href = base["_links"]["cancelAction"]["href"]
        action_id = re.search("/cancelAction/(.+)$", href).group(1)
        stop_info = await self.ddi.cancelAction[action_id]()
        stop_id = stop_info["cancelAction"]["stopId"]
        print("refuses to drop", stop_id, flush=True)
        await self.ddi.cancelAction[stop_id].feedback(
            CancelStatusExecution.rejected, CancelStatusResult.success, ("Cancelling not supported",))

    async def deploy(self, base):
        href = base["_links"]["deploymentBase"]["href"]
        action_id, resource = re.search(r"/deploymentBase/(.+)\?c=(.+)$", href).groups()
        action = self.ddi.deploymentBase[action_id]
        deployment = await action(resource)
        artifact = deployment["deployment"]["chunks"][0]["artifacts"][0]
        url = artifact["_links"]["download"]["href"]
        module, name = re.search("/softwaremodules/(.+)/artifacts/(.+)$", url).groups()
        artifacts = self.ddi.softwaremodules[module].artifacts
        checksum = await artifacts[name](self.bundle)
        assert checksum == artifact["hashes"]["md5"], "the bundle is not what its md5 says"
        await artifacts[name + ".MD5SUM"](self.bundle + ".md5")
        with open(self.bundle + ".md5") as file:
            assert file.read() == f"{checksum}  {name}"
        listed = await self.ddi.softwaremodules[module].artifacts()
        assert listed[0]["hashes"]["md5"] == checksum
        await action.feedback(DeploymentStatusExecution.proceeding, DeploymentStatusResult.none, ["Installing"],
                              percentage=50)
        with open(self.bundle) as bundle, open(os.path.join(self.directory, "installs"), "a") as installs:
            version = bundle.readline().strip()
            installs.write(version + "\n")
        with open(os.path.join(self.directory, "version"), "w") as file:
            file.write(version)
        await action.feedback(DeploymentStatusExecution.closed, DeploymentStatusResult.success, ["installed"])

    async def poll(self):
        base = await self.ddi()
        links = base.get("_links", {})
        if "configData" in links:
            await self.identify()
        if "deploymentBase" in links:
            await self.deploy(base)
        if "cancelAction" in links:
            await self.cancel(base)
        hours, minutes, seconds = base["config"]["polling"]["sleep"].split(":")
        await asyncio.sleep(int(hours) * 3600 + int(minutes) * 60 + int(seconds))


async def main(host, controller_id, token, directory):
    async with aiohttp.ClientSession() as session:
        gateway = Gateway(DDIClient(session, host, False, token, "DEFAULT", controller_id), directory)
        while True:
            try:
                await gateway.poll()
            except Exception as error:  # as its own loop does
                print("polling failed:", repr(error), flush=True)
                await asyncio.sleep(1)


asyncio.run(main(*sys.argv[1:]))
